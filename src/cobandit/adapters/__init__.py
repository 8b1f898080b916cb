"""cobandit where researchers are: environments and policies of other libraries. Each file needs an extra of its own."""
