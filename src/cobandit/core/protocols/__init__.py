"""Ways to talk, as data: one file for each protocol, with its table, its names and its texts.

`rules.py` defines what tables and protocols are, `registry.py` lists the protocols. Nothing else in the project names
them: the readable engine, the compiled engine, scenario files, reports and explanations all ask here.
"""
