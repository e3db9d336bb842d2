//! How a Chunnel says which data it needs from below, and what the compiler says when it gets others.

use crate::Connection;

/// A connection that carries `Need`, as the Chunnel `Above` needs it.
///
/// Chunnels ask `Inner: Carries<Buf, Self>` rather than `Inner: Connection<Data = Buf>`: both give the equality, but
/// when a stack is composed wrongly the compiler then names the Chunnel, the connection below it and both data types.
/// Implemented for every connection with equal data; never by hand.
pub trait Carries<Need, Above: ?Sized>: Connection<Data = Need> {}

impl<C, Need, Above: ?Sized> Carries<Need, Above> for C
where
    C: Connection + Yields<Need>,
    C::Data: Fits<Need, Above, C>,
{
}

/// Says in the compiler's words that the data of two layers differ. Holds for equal types only.
#[diagnostic::on_unimplemented(
    message = "Chunnel `{Above}` needs a connection that carries `{Need}`, but `{Below}` below it carries `{Self}`",
    label = "the data of these two layers differ",
    note = "stacks are written top first: put a Chunnel that turns `{Need}` into `{Self}` between them, or swap them"
)]
pub trait Fits<Need, Above: ?Sized, Below> {}

impl<T, Above: ?Sized, Below> Fits<T, Above, Below> for T {}

/// The equality itself, in a trait of its own so that a mismatch is reported in words.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` does not carry `{Need}`")]
pub trait Yields<Need>: Connection<Data = Need> {}

#[diagnostic::do_not_recommend]
impl<C, Need> Yields<Need> for C where C: Connection<Data = Need> {}
