//! Words that the languages and tools reserve which may read generated names.

/// Verilog-2005, SystemVerilog up to IEEE 1800-2023 and its package `std`.
#[rustfmt::skip]
static VERILOG: &[&str] = &[
    "accept_on", "alias", "always", "always_comb", "always_ff", "always_latch", "and", "assert", "assign", "assume",
    "automatic", "before", "begin", "bind", "bins", "binsof", "bit", "break", "buf", "bufif0", "bufif1", "byte", "case",
    "casex", "casez", "cell", "chandle", "checker", "class", "clocking", "cmos", "config", "const", "constraint",
    "context", "continue", "cover", "covergroup", "coverpoint", "cross", "deassign", "default", "defparam", "design",
    "disable", "dist", "do", "edge", "else", "end", "endcase", "endchecker", "endclass", "endclocking", "endconfig",
    "endfunction", "endgenerate", "endgroup", "endinterface", "endmodule", "endpackage", "endprimitive", "endprogram",
    "endproperty", "endsequence", "endspecify", "endtable", "endtask", "enum", "event", "eventually", "expect",
    "export", "extends", "extern", "final", "first_match", "for", "force", "foreach", "forever", "fork", "forkjoin",
    "function", "generate", "genvar", "global", "highz0", "highz1", "if", "iff", "ifnone", "ignore_bins",
    "illegal_bins", "implements", "implies", "import", "incdir", "include", "initial", "inout", "input", "inside",
    "instance", "int", "integer", "interconnect", "interface", "intersect", "join", "join_any", "join_none", "large",
    "let", "liblist", "library", "local", "localparam", "logic", "longint", "macromodule", "mailbox", "matches",
    "medium", "modport", "module", "nand", "negedge", "nettype", "new", "nexttime", "nmos", "nor", "noshowcancelled",
    "not", "notif0", "notif1", "null", "or", "output", "package", "packed", "parameter", "pmos", "posedge", "primitive",
    "priority", "process", "program", "property", "protected", "pull0", "pull1", "pulldown", "pullup",
    "pulsestyle_ondetect", "pulsestyle_onevent", "pure", "rand", "randc", "randcase", "randomize", "randsequence",
    "rcmos", "real", "realtime", "ref", "reg", "reject_on", "release", "repeat", "restrict", "return", "rnmos", "rpmos",
    "rtran", "rtranif0", "rtranif1", "s_always", "s_eventually", "s_nexttime", "s_until", "s_until_with", "scalared",
    "semaphore", "sequence", "shortint", "shortreal", "showcancelled", "signed", "small", "soft", "solve", "specify",
    "specparam", "static", "std", "string", "strong", "strong0", "strong1", "struct", "super", "supply0", "supply1",
    "sync_accept_on", "sync_reject_on", "table", "tagged", "task", "this", "throughout", "time", "timeprecision",
    "timeunit", "tran", "tranif0", "tranif1", "tri", "tri0", "tri1", "triand", "trior", "trireg", "type", "typedef",
    "union", "unique", "unique0", "unsigned", "until", "until_with", "untyped", "use", "uwire", "var", "vectored",
    "virtual", "void", "wait", "wait_order", "wand", "weak", "weak0", "weak1", "weak_reference", "while", "wildcard",
    "wire", "with", "within", "wor", "xnor", "xor",
];

/// Icarus, Verible, yosys and others, of Verilog-AMS among them.
#[rustfmt::skip]
static TOOLS: &[&str] = &[
    "above", "absdelay", "abstol", "ac_stim", "access", "aliasparam", "analog", "analysis", "assert_strobe", "bool",
    "branch", "connect", "connectmodule", "connectrules", "continuous", "ddt", "ddt_nature", "ddx", "discipline",
    "discrete", "domain", "driver_update", "endconnectrules", "enddiscipline", "endnature", "endparamset", "exclude",
    "final_step", "flicker_noise", "flow", "from", "ground", "idt", "idt_nature", "idtmod", "inf", "infinite",
    "initial_step", "laplace_nd", "laplace_np", "laplace_zd", "laplace_zp", "last_crossing", "limexp", "merged",
    "nature", "net_resolution", "noise_table", "paramset", "potential", "resolveto", "sample", "slew", "split",
    "timeprecision_check", "timer", "timeunit_check", "transition", "type_option", "units", "white_noise", "wone",
    "wreal", "zi_nd", "zi_np", "zi_zd", "zi_zp",
];

/// VHDL up to IEEE 1076-2019, those of PSL among them.
#[rustfmt::skip]
static VHDL: &[&str] = &[
    "abs", "access", "after", "alias", "all", "and", "architecture", "array", "assert", "assume", "assume_guarantee",
    "attribute", "begin", "block", "body", "buffer", "bus", "case", "component", "configuration", "constant", "context",
    "cover", "default", "disconnect", "downto", "else", "elsif", "end", "entity", "exit", "fairness", "file", "for",
    "force", "function", "generate", "generic", "group", "guarded", "if", "impure", "in", "inertial", "inout", "is",
    "label", "library", "linkage", "literal", "loop", "map", "mod", "nand", "new", "next", "nor", "not", "null", "of",
    "on", "open", "or", "others", "out", "package", "parameter", "port", "postponed", "private", "procedure", "process",
    "property", "protected", "pure", "range", "record", "register", "reject", "release", "rem", "report", "restrict",
    "restrict_guarantee", "return", "rol", "ror", "select", "sequence", "severity", "shared", "signal", "sla", "sll",
    "sra", "srl", "strong", "subtype", "then", "to", "transport", "type", "unaffected", "units", "until", "use",
    "variable", "view", "vmode", "vpkg", "vprop", "vunit", "wait", "when", "while", "with", "xnor", "xor",
];

/// C++ up to C++23, SystemC, and the macros of their usual headers and compilers; Verilator's own list of words among them.
#[rustfmt::skip]
static CPP: &[&str] = &[
    "BIG_ENDIAN", "BUFSIZ", "BYTE_ORDER", "CLOCKS_PER_SEC", "EDOM", "EOF", "ERANGE", "EXIT_FAILURE", "EXIT_SUCCESS",
    "FALSE", "HUGE", "HUGE_VAL", "INFINITY", "LITTLE_ENDIAN", "MAXFLOAT", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_E",
    "M_LN10", "M_LN2", "M_LOG10E", "M_LOG2E", "M_PI", "M_PI_2", "M_PI_4", "M_SQRT1_2", "M_SQRT2", "NAN", "NDEBUG",
    "NULL", "RAND_MAX", "SEEK_CUR", "SEEK_END", "SEEK_SET", "TRUE", "Verilated", "abort", "alignas", "alignof",
    "alloca", "and", "and_eq", "asm", "assert", "atomic_cancel", "atomic_commit", "atomic_noexcept", "auto",
    "bit_vector", "bitand", "bitor", "bool", "break", "case", "catch", "cdecl", "char", "char16_t", "char32_t",
    "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "complex", "concept", "const", "const_cast",
    "const_iterator", "const_reference", "consteval", "constexpr", "constinit", "continue", "decltype", "default",
    "delete", "deque", "do", "double", "dynamic_cast", "else", "enum", "errno", "explicit", "export", "extern", "false",
    "far", "final", "float", "for", "fpclassify", "friend", "goto", "huge", "i386", "if", "import", "inline", "int",
    "int16_t", "int32_t", "int64_t", "int8_t", "interrupt", "isfinite", "isgreater", "isinf", "isless", "isnan",
    "isnormal", "issubnormal", "isunordered", "iterator", "linux", "list", "long", "major", "makedev", "map",
    "math_errhandling", "minor", "module", "multimap", "multiset", "mutable", "namespace", "near", "new", "noexcept",
    "not", "not_eq", "nullptr", "offsetof", "operator", "or", "or_eq", "override", "pascal", "private", "protected",
    "ptrdiff_t", "public", "queue", "reference", "reflexpr", "register", "reinterpret_cast", "requires", "restrict",
    "return", "sc_clock", "sc_in", "sc_inout", "sc_out", "sc_signal", "sensitive", "sensitive_neg", "sensitive_pos",
    "set", "setjmp", "short", "signbit", "signed", "size_t", "sizeof", "stack", "static", "static_assert",
    "static_cast", "stderr", "stdin", "stdout", "struct", "switch", "synchronized", "template", "this", "thread_local",
    "throw", "transaction_safe", "transaction_safe_dynamic", "true", "try", "type_info", "typedef", "typeid",
    "typename", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "union", "unix", "unsigned", "using", "va_arg",
    "va_copy", "va_end", "va_start", "vector", "virtual", "vlSelf", "vlSymsp", "vlTOPp", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
];

/// Python 3.
#[rustfmt::skip]
static PYTHON: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
    "del", "elif", "else", "except", "exec", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "match", "nonlocal", "not", "or", "pass", "print", "raise", "return", "try", "type", "while", "with", "yield",
];

/// Rust 2024.
#[rustfmt::skip]
static RUST: &[&str] = &[
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match",
    "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait",
    "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Languages that read what is generated, with their words, each list sorted.
pub static LANGUAGES: &[(&str, &[&str])] = &[
    ("SystemVerilog", VERILOG),
    ("Verilog tools", TOOLS),
    ("VHDL", VHDL),
    ("C++", CPP),
    ("Python", PYTHON),
    ("Rust", RUST),
];

/// Those of them that read the inside of a module.
pub static OF_VERILOG: &[&[&str]] = &[VERILOG, TOOLS];

/// The same of VHDL: its words, and the names that generated VHDL has from its packages and architectures.
pub static OF_VHDL: &[&[&str]] = &[VHDL, VHDL_NAMES];

/// Names that generated VHDL uses, which a signal of such a name would hide.
#[rustfmt::skip]
static VHDL_NAMES: &[&str] = &[
    "bit", "boolean", "character", "choose", "copies", "falling_edge", "false", "ieee", "index", "integer", "logic",
    "moved_left", "moved_right", "moved_right_signed", "natural", "numeric_std", "positive", "real", "resize",
    "rising_edge", "rom_style", "rtl", "signed", "std", "std_logic", "std_logic_1164", "std_logic_vector", "std_ulogic",
    "std_ulogic_vector", "string", "syn_romstyle", "time", "to_01", "to_integer", "to_unsigned", "true", "unsigned",
    "vector", "work",
];
