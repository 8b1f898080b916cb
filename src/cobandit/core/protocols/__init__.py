"""Ways to talk, as data: a file for each protocol, with its table, its names and its words.

`rules.py` says what a table and a protocol are, `registry.py` which protocols there are. Nothing else in the project
names them: the readable engine, the compiled engine, scenario files, reports and explanations all ask here.
"""
