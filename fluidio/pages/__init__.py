"""Pages to look at: records, programs and runs, each one HTML file that holds its data and loads nothing."""

from fluidio.pages.records import records_page

__all__ = ["records_page"]
