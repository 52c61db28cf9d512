"""The way to a language model: a program that is run, or an address that is asked. Touches the world, decides nothing.

What is sent is made by `template.py` from the files in `prompts/`. Whether anyone is asked, what may be spent, and that
no secret goes out is `ops/asks.py`'s matter; what a certain program's command line looks like is `agents/`'s.
"""
