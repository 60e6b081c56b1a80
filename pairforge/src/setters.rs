//! Builders of options: a method for each that sets it and returns all.

/// Sets one field of `Options` and returns all.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($given:ident: $of:ty) $value:expr;)*) => {
        impl Options {
            $($(#[$doc])* pub fn $name(mut self, $given: $of) -> Options {
                self.$name = $value;
                self
            })*
        }
    };
}
