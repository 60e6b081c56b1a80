"""Calls of other libraries, so that a program changes one import: `fmm3d` those of fmm3dpy, `fmm2d` those of fmm2dpy."""
