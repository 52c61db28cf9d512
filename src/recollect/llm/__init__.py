"""The way to a language model: a program that is run, or an address that is asked. Touches the world, decides nothing.

Prompts are the files in `prompts/`. Whether a model is asked, what it may cost, and that no secret is sent is decided
by `app/language_model.py`; what a certain program's command line looks like is known to `agents/`.
"""
