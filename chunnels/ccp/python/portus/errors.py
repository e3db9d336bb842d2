"""The errors of this package."""


class Error(Exception):
    """An error of this package. Its text names the subject, the place and the remedy."""


class ProgramError(Error):
    """A datapath program that does not compile."""


class MessageError(Error):
    """A message that no datapath sends, or that no datapath takes."""
