//! The receiving end of a subscription.

use super::failure::failure;
use super::publisher::PAYLOAD;
use super::server::{ANSWER_TIMEOUT, Server};
use crate::{Incoming, Subscription};
use bertha_core::{Error, ErrorKind};
use redis::streams::{StreamId, StreamReadReply};
use redis::{FromRedisValue, RedisResult, Script, Value};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Name of the only consumer of a group. All receivers share it: for the server a consumer is no more than a
/// name beside an entry, and the name of a receiver that is gone would stay.
const CONSUMER: &str = "receivers";

/// Longest time between two looks for overdue messages.
const LOOK: Duration = Duration::from_secs(1);

/// An end that receives from a consumer group of Redis, over a connection of its own, on which it waits.
pub struct RedisSubscription {
    server: Server,
    waiting: Server,
    /// Number of the waiting connection at the server.
    waiting_id: AtomicI64,
    topic: String,
    name: String,
    overdue: Duration,
    dead_letters: DeadLetters,
    /// Time of the next look for overdue messages.
    look: Mutex<Instant>,
    /// True if a message was given back, so that a look will find it.
    is_one_back: AtomicBool,
    claim: Script,
    give_back: Script,
}

/// The topic for messages that fail again and again.
pub(crate) struct DeadLetters {
    pub(crate) topic: String,
    /// Number of deliveries before a message goes there.
    pub(crate) after: u64,
    pub(crate) length: usize,
}

/// An entry, and the number of its earlier deliveries.
#[derive(Debug, Clone)]
pub struct RedisReceipt {
    id: String,
    deliveries: u64,
}

impl RedisSubscription {
    pub(crate) fn new(
        server: Server,
        topic: String,
        name: String,
        overdue: Duration,
        dead_letters: DeadLetters,
    ) -> Self {
        Self {
            waiting: server.for_waiting(),
            waiting_id: AtomicI64::new(-1),
            server,
            topic,
            name,
            overdue,
            dead_letters,
            look: Mutex::new(Instant::now()),
            is_one_back: AtomicBool::new(false),
            claim: Script::new(include_str!("claim.lua")),
            give_back: Script::new(include_str!("give_back.lua")),
        }
    }

    /// Takes over overdue messages.
    async fn take_over(&self, limit: usize) -> Result<Vec<Incoming<RedisReceipt>>, Error> {
        let mut connection = self.server.connection().await?;
        let mut call = self.claim.key(&self.topic);
        call.key(&self.dead_letters.topic).arg(&self.name).arg(CONSUMER).arg(self.overdue_ms()).arg(limit);
        call.arg(self.dead_letters.after).arg(self.dead_letters.length);
        let taken: RedisResult<Vec<Value>> = call.invoke_async(&mut connection).await;
        let taken = match taken {
            Ok(taken) => taken,
            Err(error) => return Err(self.server.failed(error).await),
        };
        let mut burst = Vec::with_capacity(taken.len());
        for entry in taken {
            let entry: Vec<Value> =
                FromRedisValue::from_redis_value(entry).map_err(|error| failure(error.into()))?;
            let [id, fields, deliveries] = <[Value; 3]>::try_from(entry).map_err(|_| malformed())?;
            let id: String = redis::from_redis_value(id).map_err(|error| failure(error.into()))?;
            let fields: Vec<Vec<u8>> =
                redis::from_redis_value(fields).map_err(|error| failure(error.into()))?;
            let deliveries = redis::from_redis_value(deliveries).map_err(|error| failure(error.into()))?;
            let payload = fields.chunks_exact(2).find(|field| field[0] == PAYLOAD.as_bytes());
            let payload = payload.map(|field| field[1].clone());
            burst.extend(self.sort(RedisReceipt { id, deliveries }, payload).await?);
        }
        Ok(burst)
    }

    /// Reads new messages, and waits for them at the server.
    async fn read(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<RedisReceipt>>, Error> {
        let mut connection = self.waiting.connection().await?;
        if self.waiting_id.load(Ordering::Relaxed) < 0 {
            let id: RedisResult<i64> = redis::cmd("CLIENT").arg("ID").query_async(&mut connection).await;
            // Without the number, a message that was given back is looked for later.
            self.waiting_id.store(id.unwrap_or(-1), Ordering::Relaxed);
        }
        let mut call = redis::cmd("XREADGROUP");
        call.arg("GROUP").arg(&self.name).arg(CONSUMER).arg("COUNT").arg(limit);
        // A time of zero would mean forever.
        call.arg("BLOCK").arg(wait.as_millis().max(1) as u64).arg("STREAMS").arg(&self.topic).arg(">");
        let answer = tokio::time::timeout(wait + ANSWER_TIMEOUT, call.query_async(&mut connection)).await;
        let answer: Option<StreamReadReply> = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                self.waiting_id.store(-1, Ordering::Relaxed);
                return Err(self.waiting.failed(error).await);
            }
            Err(_) => {
                self.waiting_id.store(-1, Ordering::Relaxed);
                self.waiting.close().await;
                let text = "the server does not answer; is it running?";
                return Err(Error::new(ErrorKind::Unreachable, text).at("RedisStreams"));
            }
        };
        let mut burst = Vec::new();
        for StreamId { id, mut map, .. } in
            answer.into_iter().flat_map(|answer| answer.keys).flat_map(|key| key.ids)
        {
            let payload = map.remove(PAYLOAD).map(redis::from_redis_value).transpose();
            let payload = payload.map_err(|error| failure(error.into()))?;
            burst.extend(self.sort(RedisReceipt { id, deliveries: 1 }, payload).await?);
        }
        Ok(burst)
    }

    /// Returns the message, or `None` for an entry that another program has added, which is acknowledged.
    async fn sort(
        &self,
        receipt: RedisReceipt,
        payload: Option<Vec<u8>>,
    ) -> Result<Option<Incoming<RedisReceipt>>, Error> {
        if let Some(payload) = payload {
            return Ok(Some(Incoming { payload, receipt }));
        }
        tracing::warn!(topic = self.topic, id = receipt.id, "an entry without `{PAYLOAD}` is left out");
        self.acknowledge(&[receipt]).await?;
        Ok(None)
    }

    fn overdue_ms(&self) -> u64 {
        self.overdue.as_millis().max(1) as u64
    }

    /// Returns the time between two looks for overdue messages.
    fn period(&self) -> Duration {
        (self.overdue / 4).clamp(Duration::from_millis(50), LOOK)
    }
}

fn malformed() -> Error {
    Error::new(ErrorKind::Malformed, "an answer that the script did not write").at("RedisStreams")
}

impl Subscription for RedisSubscription {
    type Receipt = RedisReceipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<RedisReceipt>>, Error> {
        let deadline = Instant::now() + wait;
        let mut look = self.look.lock().await;
        loop {
            let now = Instant::now();
            if self.is_one_back.swap(false, Ordering::Relaxed) || now >= *look {
                let burst = self.take_over(limit).await?;
                // There may be more overdue messages.
                *look = if burst.len() < limit { now + self.period() } else { now };
                if !burst.is_empty() {
                    return Ok(burst);
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let burst = self.read(limit, left.min(look.saturating_duration_since(Instant::now()))).await?;
            if !burst.is_empty() || Instant::now() >= deadline {
                return Ok(burst);
            }
        }
    }

    async fn acknowledge(&self, receipts: &[RedisReceipt]) -> Result<(), Error> {
        let mut connection = self.server.connection().await?;
        let mut call = redis::cmd("XACK");
        call.arg(&self.topic).arg(&self.name);
        for receipt in receipts {
            call.arg(&receipt.id);
        }
        let answer: RedisResult<()> = call.query_async(&mut connection).await;
        match answer {
            Ok(()) => Ok(()),
            Err(error) => Err(self.server.failed(error).await),
        }
    }

    async fn give_back(&self, receipts: &[RedisReceipt]) -> Result<(), Error> {
        self.return_entries(receipts, 0).await
    }

    async fn give_back_unseen(&self, receipts: &[RedisReceipt]) -> Result<(), Error> {
        self.return_entries(receipts, 1).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.waiting.close().await;
        Ok(())
    }
}

impl RedisSubscription {
    /// Makes entries overdue, and takes `uncounted` of their deliveries back.
    async fn return_entries(&self, receipts: &[RedisReceipt], uncounted: u64) -> Result<(), Error> {
        let mut connection = self.server.connection().await?;
        let mut call = self.give_back.key(&self.topic);
        call.arg(&self.name).arg(CONSUMER).arg(self.overdue_ms()).arg(uncounted);
        for receipt in receipts {
            call.arg(&receipt.id).arg(receipt.deliveries);
        }
        let answer: RedisResult<()> = call.invoke_async(&mut connection).await;
        if let Err(error) = answer {
            return Err(self.server.failed(error).await);
        }
        self.is_one_back.store(true, Ordering::Relaxed);
        let id = self.waiting_id.load(Ordering::Relaxed);
        if id >= 0 {
            // A call of this end may wait for new messages, while there is an old message. If the call can't
            // be woken, it looks by itself later.
            let woken: RedisResult<i64> =
                redis::cmd("CLIENT").arg("UNBLOCK").arg(id).query_async(&mut connection).await;
            drop(woken);
        }
        Ok(())
    }
}

bertha_core::debug_fields!(RedisSubscription { topic, name });
