//! Calls of a service, with deadlines, a stream of responses and a stream of requests.
//!
//! `service serve CODEC ADDRESS` and `service ask CODEC ADDRESS TEXT`; the codec is cbor or json.

use crate::Outcome;
use bertha::chunnels::{Cbor, Json, Rpc};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::rpc::{self, Client, FailureKind, serve as answer};
use futures_util::{Stream, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The calls that clients can make.
#[bertha::service]
trait Words {
    /// Counts the letters and the words of a text.
    async fn count(&self, text: String) -> Count;

    /// Returns the words of a text, one by one.
    fn split(&self, text: String) -> impl Stream<Item = String>;

    /// Returns the words that the client sends, with a text between any two.
    async fn join(&self, separator: String, words: rpc::Requests<String>) -> Result<String, rpc::Failure>;

    /// Returns after this long, unless the caller gives up.
    async fn sleep(&self, milliseconds: u64);
}

#[derive(Debug, Serialize, Deserialize)]
struct Count {
    letters: u64,
    words: u64,
}

struct Counting;

impl Words for Counting {
    async fn count(&self, text: String) -> Count {
        Count { letters: text.chars().count() as u64, words: text.split_whitespace().count() as u64 }
    }

    fn split(&self, text: String) -> impl Stream<Item = String> {
        stream::iter(text.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    async fn join(&self, separator: String, words: rpc::Requests<String>) -> Result<String, rpc::Failure> {
        Ok(words.try_collect::<Vec<_>>().await?.join(&separator))
    }

    async fn sleep(&self, milliseconds: u64) {
        bertha::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// Does the same with each of the two codecs, which are types.
macro_rules! with_codec {
    ($name:expr, $codec:ident => $work:expr) => {
        match $name {
            "cbor" => {
                let $codec = Cbor;
                $work
            }
            "json" => {
                let $codec = Json;
                $work
            }
            other => Err(format!("`{other}` is none of cbor and json").into()),
        }
    };
}

pub(crate) async fn serve(codec: &str, address: &str) -> Outcome {
    with_codec!(codec, codec => {
        let mut clients = make_stack!(Rpc::new().codec(&codec)).listen(Tcp::new(), address).await?;
        println!("{}", clients.local_addr());
        while let Some(client) = clients.next().await {
            bertha::spawn(answer(client, WordsServer::new(Counting).codec(codec)).into_future());
        }
        Ok(())
    })
}

pub(crate) async fn ask(codec: &str, address: &str, text: &str) -> Outcome {
    with_codec!(codec, codec => {
        let connection = make_stack!(Rpc::new().codec(&codec)).connect(Tcp::new(), address).await?;
        let words = WordsClient::new(Client::new(connection).codec(codec).deadline(Duration::from_secs(30)));
        let text = text.to_owned();
        let count = words.count(text.clone()).await?;
        println!("{} letters, {} words", count.letters, count.words);
        let mut split = words.split(text.clone()).await?;
        while let Some(word) = split.next().await {
            println!("{}", word?);
        }
        let parts: Vec<_> = text.split_whitespace().map(String::from).collect();
        println!("{}", words.join("-".to_owned(), stream::iter(parts)).await?);
        match words.deadline(Duration::from_millis(50)).sleep(60_000).await {
            Err(failure) if failure.kind() == FailureKind::TimedOut => println!("no longer than 50 ms"),
            other => return Err(format!("the deadline has passed, and there is {other:?}").into()),
        }
        Ok(())
    })
}
