//! A server that is killed while its clients wait.

use crate::broker::Broker;
use bertha_core::{Buf, Connection, ErrorKind};
use bertha_queues::{QueueSettings, Service, Topic};
use std::time::Duration;
use tokio::time::timeout;

/// Ends that wait learn that the server is away, and go on once it is back.
pub(crate) async fn both_ends_learn_that_the_server_is_away(service: impl Service, broker: &Broker) {
    let settings = QueueSettings::default().retry_for(Duration::from_secs(2));
    let topic = Topic::new(service, "killed").settings(settings);
    topic.create().await.unwrap();
    let (receiver, publisher) = (topic.receiver("all").await.unwrap(), topic.publisher().await.unwrap());
    let message = || Buf::copy_of(b"a book", 0).unwrap();
    publisher.send(message()).await.unwrap();
    receiver.recv().await.unwrap().done();
    receiver.drain().await.unwrap();
    broker.act("kill");
    let recv = timeout(Duration::from_secs(90), receiver.recv());
    let send = timeout(Duration::from_secs(90), publisher.send(message()));
    let (received, sent) = futures_util::future::join(recv, send).await;
    let received = received.expect("recv says nothing").map(drop);
    let sent = sent.expect("send says nothing");
    for error in [received.unwrap_err(), sent.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    }
    broker.act("start");
    let is_back = async {
        while publisher.send(message()).await.is_err() {}
        loop {
            if let Ok(message) = receiver.recv().await {
                return message.done();
            }
        }
    };
    timeout(Duration::from_secs(90), is_back).await.expect("an end does not go on");
}
