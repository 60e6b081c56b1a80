//! Building blocks of the hardware: formats, operators, circuits, engines and boards.
//!
//! This crate knows nothing of a language. It holds the number [formats](Format), the sticky [`Flags`], the
//! library of [`op`]erators (one file each), the [`circuit`] builder that an operator describes itself
//! with and that pipelines it to a clock, the [`netlist`](rtl::netlist) that circuits become and its Verilog text, and
//! the [`engine`] that feeds pipelines from a stream.
//!
//! Data flows through it like this: an [`op::Operator`] plus an [`op::Inst`] (the formats and attributes
//! of one use) gives bits (the specification), real-arithmetic semantics, a C expression, and a
//! [`circuit::Circuit`]; [`circuit::pipeline`] cuts the circuit into stages for a [`Clock`](circuit::target::Clock) and
//! gives a [`Module`](rtl::netlist::Module) whose latency is a number that everything above relies on.
//!
//! The central type is [`op::Operator`]: everything the system knows of an operator stands in its file.
//!
//! ```
//! use hdl::circuit::target::Clock;
//! use hdl::op::{Attrs, Inst, float, hardware};
//! use hdl::rtl::netlist::Netlist;
//! use hdl::{Flags, Format};
//!
//! let format: Format = "float18.9".parse()?;
//! let product = Inst::new(float::FMUL, &[format, format], Attrs::default())?;
//! // The specification: bits from bits, and flags.
//! let [x, y] = ["1.5", "-3"].map(|number| hdl::number::exact::parse(format, number).expect("it is a number"));
//! let (bits, flags) = float::FMUL.bits(&product, &[x, y]);
//! assert_eq!((format.to_f64(bits), flags), (-4.5, Flags::NONE));
//! // The hardware of the same use, for a clock of 150 MHz.
//! let made = hardware(float::FMUL, &product, Clock::default_clock());
//! assert!(made.latency > 0);
//! assert!(Netlist::new([made.module]).verilog()?.contains("module fmul_float18_9_float18_9 ("));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod board;
pub mod circuit;
pub mod engine;
pub mod ethernet;
pub mod export;
pub mod hash;
pub mod number;
pub mod op;
pub mod rtl;
pub mod serial;

pub use number::bounds::Bounds;
pub use number::flags::Flags;
pub use number::format::Format;
pub use number::reduce::Reduce;
pub use number::rounding::Rounding;
