//! The check that a pass drops no guarantee without a declaration, as bounds that the compiler reports by name.

use super::{
    AtMostOnce, Authenticated, Effect, Encrypted, ForwardSecret, Guarantees, IntegrityChecked, Ordered,
    PeerIdentified, Reliable,
};
use crate::truth::{Bool, False};

/// A stack's effects `Self` on the guarantees. No effect is weaker in `After`, except for guarantees that are
/// `Allowed`. So a guarantee that held above the stack holds above it after the pass `Pass`, whatever the
/// stack stands on.
#[doc(hidden)]
pub trait Keeps<Pass, After, Allowed> {}

type Lost<Before, After, Allowed> =
    <<Before as Effect>::IsLostIn<After> as Bool>::Without<<Allowed as Effect>::IsGiven>;

impl<Pass, Before: Guarantees, After: Guarantees, Allowed: Guarantees> Keeps<Pass, After, Allowed> for Before
where
    Lost<Before::Encrypted, After::Encrypted, Allowed::Encrypted>: NotDropped<Pass, Encrypted>,
    Lost<Before::Authenticated, After::Authenticated, Allowed::Authenticated>:
        NotDropped<Pass, Authenticated>,
    Lost<Before::Reliable, After::Reliable, Allowed::Reliable>: NotDropped<Pass, Reliable>,
    Lost<Before::Ordered, After::Ordered, Allowed::Ordered>: NotDropped<Pass, Ordered>,
    Lost<Before::AtMostOnce, After::AtMostOnce, Allowed::AtMostOnce>: NotDropped<Pass, AtMostOnce>,
    Lost<Before::IntegrityChecked, After::IntegrityChecked, Allowed::IntegrityChecked>:
        NotDropped<Pass, IntegrityChecked>,
    Lost<Before::ForwardSecret, After::ForwardSecret, Allowed::ForwardSecret>:
        NotDropped<Pass, ForwardSecret>,
    Lost<Before::PeerIdentified, After::PeerIdentified, Allowed::PeerIdentified>:
        NotDropped<Pass, PeerIdentified>,
{
}

/// Implemented unless `Pass` drops `Guarantee` without declaring it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the pass `{Pass}` drops the guarantee `{Guarantee}`, which the stack had or passed on",
    label = "here a guarantee of the stack would be lost",
    note = "a pass that is meant to drop it says `weakens({Guarantee})`, and who applies it writes `accepting ({Guarantee})`"
)]
pub trait NotDropped<Pass, Guarantee> {}

#[diagnostic::do_not_recommend]
impl<Pass, Guarantee> NotDropped<Pass, Guarantee> for False {}

/// The guarantees `Self` that `Pass` says it may drop are all among those that the application `Accepts`.
#[doc(hidden)]
pub trait Accepted<Pass, Accepts> {}

impl<Pass, Weakens: Guarantees, Accepts: Guarantees> Accepted<Pass, Accepts> for Weakens
where
    <Weakens::Encrypted as Effect>::IsLostIn<Accepts::Encrypted>: Agreed<Pass, Encrypted>,
    <Weakens::Authenticated as Effect>::IsLostIn<Accepts::Authenticated>: Agreed<Pass, Authenticated>,
    <Weakens::Reliable as Effect>::IsLostIn<Accepts::Reliable>: Agreed<Pass, Reliable>,
    <Weakens::Ordered as Effect>::IsLostIn<Accepts::Ordered>: Agreed<Pass, Ordered>,
    <Weakens::AtMostOnce as Effect>::IsLostIn<Accepts::AtMostOnce>: Agreed<Pass, AtMostOnce>,
    <Weakens::IntegrityChecked as Effect>::IsLostIn<Accepts::IntegrityChecked>:
        Agreed<Pass, IntegrityChecked>,
    <Weakens::ForwardSecret as Effect>::IsLostIn<Accepts::ForwardSecret>: Agreed<Pass, ForwardSecret>,
    <Weakens::PeerIdentified as Effect>::IsLostIn<Accepts::PeerIdentified>: Agreed<Pass, PeerIdentified>,
{
}

/// Implemented if the application accepts that `Pass` drops `Guarantee`, or if the pass does not drop it.
#[diagnostic::on_unimplemented(
    message = "the pass `{Pass}` may drop the guarantee `{Guarantee}`, and that is not accepted here",
    label = "this pass may weaken the stack",
    note = "write `accepting ({Guarantee})` behind the pass if the application can do without it"
)]
pub trait Agreed<Pass, Guarantee> {}

#[diagnostic::do_not_recommend]
impl<Pass, Guarantee> Agreed<Pass, Guarantee> for False {}
