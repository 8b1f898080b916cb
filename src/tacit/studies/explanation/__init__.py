"""How two agents talked, for people who want to see the protocol: `tacit explain`.

* `conversation.py`: what happened between the two, as values, from the readable engine;
* `choosing.py`: which two, if nobody says;
* `words.py`: a sentence for everything that happened, and the line of Algorithm 1 that did it;
* `drawing.py`: the two timelines as a picture; `page.py`: the page around it, which adds motion.
"""
