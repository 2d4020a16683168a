"""The gateway and the page: `semtropy serve`."""
