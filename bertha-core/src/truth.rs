//! Truth values as types, for questions that the compiler answers.

/// Type-level true.
#[derive(Debug)]
pub enum True {}

/// Type-level false.
#[derive(Debug)]
pub enum False {}

/// A type-level truth value.
pub trait Bool {
    /// The truth value at run time.
    const VALUE: bool;
    /// True if both values are true.
    type And<Other: Bool>: Bool;
    /// True if at least one value is true.
    type Or<Other: Bool>: Bool;
    /// True if this value is true and the other is false.
    type Without<Other: Bool>: Bool;
    /// True if this value is false.
    type Not: Bool;
    /// `Then` if this value is true, else `Else`.
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
