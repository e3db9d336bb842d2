//! The joining of a topic, of a messaging service or over multicast.

use crate::commands::Commands;
use crate::journal::Journal;
use crate::participant::{Message, Part, over};
use crate::store::Store;
use crate::topic;
use bertha_chunnels::{Postcard, ReceiverOrdered, SequencerOrdered, Serialize};
use bertha_core::{Error, NumParticipantsAtMost, make_stack, select};
use bertha_datapath_kernel::UdpMulticast;
use tokio::io::AsyncBufRead;

/// Takes part until the commands end or a signal comes, and carries them out.
pub(crate) async fn take_part(
    part: Part,
    store: Store,
    commands: Commands<impl AsyncBufRead + Send + Unpin>,
    journal: Journal,
) -> Result<(), Error> {
    if let Some(service) = part.service.clone() {
        return Box::pin(topic::take_part(part, &service, store, commands, journal)).await;
    }
    // Each publisher's messages stay in order in any case. Among many participants all messages have one order.
    let by_publisher = ReceiverOrdered::new;
    let order = select!(
        by_publisher(),
        make_stack!(by_publisher(), SequencerOrdered::new());
        prefer 0 if NumParticipantsAtMost(part.at_most)
    );
    let stack = make_stack!(Serialize::<Message, Postcard>::new(), order);
    let group = UdpMulticast::new(part.group).interface(part.interface);
    over(stack, group, part, store, commands, journal).await
}
