"""The tests of fluidio; the folders mirror the packages."""
