//! Truth values as types, for questions that the compiler answers.

/// Type-level true.
#[derive(Debug)]
pub enum True {}

/// Type-level false.
#[derive(Debug)]
pub enum False {}

/// A type-level truth value.
pub trait Bool {
    /// The same at run time.
    const VALUE: bool;
    /// Whether both are true.
    type And<Other: Bool>: Bool;
    /// Whether one is true.
    type Or<Other: Bool>: Bool;
    /// Whether this is true and the other is not.
    type Without<Other: Bool>: Bool;
    /// Whether this is false.
    type Not: Bool;
    /// One type or another.
    type If<Then, Else>;
}

impl Bool for True {
    const VALUE: bool = true;
    type And<Other: Bool> = Other;
    type Or<Other: Bool> = True;
    type Without<Other: Bool> = Other::Not;
    type Not = False;
    type If<Then, Else> = Then;
}

impl Bool for False {
    const VALUE: bool = false;
    type And<Other: Bool> = False;
    type Or<Other: Bool> = Other;
    type Without<Other: Bool> = False;
    type Not = True;
    type If<Then, Else> = Else;
}
