//! The effect of layers on one guarantee, for questions that the compiler answers.

use crate::truth::{Bool, False, True};

/// The guarantee holds above the layers, whatever is below them.
#[derive(Debug)]
pub enum Gives {}

/// The guarantee holds above the layers if it holds below them.
#[derive(Debug)]
pub enum Passes {}

/// The guarantee does not hold above the layers, whatever is below them.
#[derive(Debug)]
pub enum Withdraws {}

/// The effect of layers on one guarantee, as a type.
///
/// There are three, from the weakest to the strongest: [`Withdraws`], [`Passes`] and [`Gives`].
pub trait Effect {
    /// True for [`Gives`].
    type IsGiven: Bool;
    /// True for [`Withdraws`].
    type IsWithdrawn: Bool;
    /// The effect of these layers above other layers.
    type Over<Below: Effect>: Effect;
    /// The weaker effect of two.
    type Weaker<Other: Effect>: Effect;
    /// This effect, or [`Passes`] if this effect is [`Gives`].
    type AtMostPasses: Effect;
    /// [`Withdraws`] if this effect is [`Gives`], and [`Passes`] if not.
    type Reversed: Effect;
    /// This effect if it is [`Gives`], and `Other` if not.
    type GivesOr<Other: Effect>: Effect;
    /// True if layers with the effect `After` in the place of these layers may lose the guarantee: if `After`
    /// is weaker.
    type IsLostIn<After: Effect>: Bool;
}

impl Effect for Gives {
    type IsGiven = True;
    type IsWithdrawn = False;
    type Over<Below: Effect> = Self;
    type Weaker<Other: Effect> = Other;
    type AtMostPasses = Passes;
    type Reversed = Withdraws;
    type GivesOr<Other: Effect> = Self;
    type IsLostIn<After: Effect> = <After::IsGiven as Bool>::Not;
}

impl Effect for Passes {
    type IsGiven = False;
    type IsWithdrawn = False;
    type Over<Below: Effect> = Below;
    type Weaker<Other: Effect> = Other::AtMostPasses;
    type AtMostPasses = Self;
    type Reversed = Self;
    type GivesOr<Other: Effect> = Other;
    type IsLostIn<After: Effect> = After::IsWithdrawn;
}

impl Effect for Withdraws {
    type IsGiven = False;
    type IsWithdrawn = True;
    type Over<Below: Effect> = Self;
    type Weaker<Other: Effect> = Self;
    type AtMostPasses = Self;
    type Reversed = Passes;
    type GivesOr<Other: Effect> = Other;
    type IsLostIn<After: Effect> = False;
}
