//! How a Chunnel says which data it needs from below, and what the compiler says when it gets others.

use crate::Connection;

/// A connection that carries `Need`, as the Chunnel `Above` needs it.
///
/// Chunnels ask `Inner: Carries<Buf, Self>` rather than `Inner: Connection<Data = Buf>`: both give the equality, but
/// when a stack is composed wrongly the compiler then names the Chunnel, the connection below it and both data types.
/// Implemented for every connection with equal data; never by hand.
pub trait Carries<Need, Above: ?Sized>: Connection<Data = Need> {}

impl<C, Need, Above: ?Sized> Carries<Need, Above> for C where
    C: Connection + Fits<Need, <C as Connection>::Data, Above>
{
}

/// Says in the compiler's words that the data of two layers differ. Holds where `Need` is `Given`, the data of the
/// connection; both are parameters so that the words can name them.
#[diagnostic::on_unimplemented(
    message = "Chunnel `{Above}` needs a connection that carries `{Need}`, but `{Self}` below it carries `{Given}`",
    label = "the data of these two layers differ",
    note = "stacks are written top first: put a Chunnel that turns `{Need}` into `{Given}` between them, or swap them"
)]
pub trait Fits<Need, Given, Above: ?Sized>: Connection<Data = Need> {}

// One parameter for both: for other data no impl applies, and so the words above are what is reported.
impl<C: Connection<Data = Data>, Data, Above: ?Sized> Fits<Data, Data, Above> for C {}
