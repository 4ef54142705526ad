"""HTML pages about records, programs and runs: each a single file that holds its data and loads nothing."""

from fluidio.pages.programs import program_page
from fluidio.pages.records import records_page

__all__ = ["program_page", "records_page"]
