//! From Verilog to a bitstream: finds and runs the synthesis tools, keeps their logs, and reads area and timing out of
//! them.
//!
//! Nothing here prints. A tool that is absent is an error that says how to install it.
