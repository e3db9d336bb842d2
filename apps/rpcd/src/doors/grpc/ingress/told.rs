//! Questions about services, which the daemon answers itself.

use super::head::head;
use super::party::Parties;
use super::{health, reflection};
use crate::destinations::services::Services;
use crate::doors::grpc::formats::body::Room;
use crate::doors::grpc::formats::status::{self, Status};
use crate::doors::grpc::formats::{body, message};
use crate::failures::code::Code;
use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use std::time::Duration;
use tokio::time::timeout;

/// Number of bytes of the longest question.
const LONGEST: usize = 4096;

/// Time in which the next question has to come, or the stream to end.
const NEXT: Duration = Duration::from_secs(60);

/// Returns true if the path is one of a service of the daemon.
pub(super) fn is_about_services(path: &str) -> bool {
    answerer(path).is_some()
}

/// Answers the questions of a stream, each before the next is read.
pub(super) async fn answer(
    request: Request<RecvStream>,
    mut response: SendResponse<Bytes>,
    parties: &Parties,
) {
    let Some(answerer) = answerer(request.uri().path()) else { return };
    let sent = async {
        let mut stream = response.send_response(head(), false)?;
        let outcome = answer_all(request.into_body(), &mut stream, answerer, parties).await;
        let mut trailers = HeaderMap::new();
        match outcome {
            Ok(()) => status::write_success(&mut trailers),
            Err(status) => status.write(&mut trailers),
        }
        stream.send_trailers(trailers)
    };
    if let Err(error) = sent.await {
        tracing::debug!(%error, "an answer over HTTP/2 is not sent");
    }
}

/// The answer to an encoded question.
type Answerer = fn(&[u8], &Services) -> Result<Vec<u8>, Status>;

fn answerer(path: &str) -> Option<Answerer> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    match method {
        health::METHOD if service == health::SERVICE => Some(health::answer),
        reflection::METHOD if reflection::SERVICES.contains(&service) => Some(reflection::answer),
        _ => None,
    }
}

async fn answer_all(
    mut questions: RecvStream,
    answers: &mut SendStream<Bytes>,
    answerer: Answerer,
    parties: &Parties,
) -> Result<(), Status> {
    let mut room = parties.reading.begin()?;
    room.grow(LONGEST)?;
    let mut bytes = BytesMut::new();
    loop {
        while let Some(question) = message::take(&mut bytes, LONGEST)? {
            body::write(answers, message::body(&answerer(&question, &parties.state.services)?), false)
                .await?;
        }
        let late = |_| Status::new(Code::DeadlineExceeded, "no question came in time");
        match timeout(NEXT, questions.data()).await.map_err(late)? {
            Some(data) => {
                let data = data.map_err(|error| body::broken(&error))?;
                parties.reading.credit.is_message(data.len());
                bytes.extend_from_slice(&data);
                // Fails for a stream that has ended alone, which the next read tells.
                let _released = questions.flow_control().release_capacity(data.len());
            }
            None => return Ok(()),
        }
    }
}
