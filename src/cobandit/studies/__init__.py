"""One file per table or figure: scenario, run, compare, artefact."""
