//! The bound by which a Chunnel requires data from the layer below, with the compiler error for other data.

use crate::Connection;

/// A connection that carries `Need`, as the Chunnel `Above` needs it.
///
/// Chunnels have the bound `Inner: Carries<Buf, Self>` rather than `Inner: Connection<Data = Buf>`. Both mean the same, but
/// with `Carries` the error for a wrongly composed stack names the Chunnel, the connection below it and both data types.
/// It is implemented for every connection with equal data, and never by hand.
pub trait Carries<Need, Above: ?Sized>: Connection<Data = Need> {}

impl<C, Need, Above: ?Sized> Carries<Need, Above> for C where
    C: Connection + Fits<Need, <C as Connection>::Data, Above>
{
}

/// Implemented if `Need` is `Given`, the data of the connection. Both are parameters so that the compiler's error can name
/// them if they differ.
#[diagnostic::on_unimplemented(
    message = "Chunnel `{Above}` needs a connection that carries `{Need}`, but `{Self}` below it carries `{Given}`",
    label = "the data of these two layers differ",
    note = "stacks are written top first: put a Chunnel that turns `{Need}` into `{Given}` between them, or swap them"
)]
pub trait Fits<Need, Given, Above: ?Sized>: Connection<Data = Need> {}

// One parameter for both: for different data no impl applies, so the compiler reports the message above.
impl<C: Connection<Data = Data>, Data, Above: ?Sized> Fits<Data, Data, Above> for C {}
