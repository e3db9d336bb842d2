use super::{Deframe, Framing, LengthFramed, LineFramed};
use bertha_core::{Buf, Chunk, Connection, ErrorKind, Wrap, make_stack};
use bertha_datapath_sim::{PairConnection, pair, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use proptest::prelude::*;

/// Returns a connection that carries bytes as they are sent, with their ends.
fn bytes() -> (PairConnection<TokioRuntime, Chunk>, PairConnection<TokioRuntime, Chunk>) {
    pair_of(TokioRuntime)
}

/// Returns the messages that `decoder` finds in `stream`, which arrives in pieces of these lengths; an error
/// is shown as its kind.
fn decoded<D: Deframe>(
    decoder: &mut D,
    mut stream: &[u8],
    cuts: &[usize],
) -> Vec<Result<D::Message, ErrorKind>> {
    let mut seen = Vec::new();
    for &cut in cuts.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (piece, rest) = stream.split_at(stream.len().min(cut.max(1)));
        stream = rest;
        let mut piece = Buf::copy_of(piece, 0).unwrap();
        loop {
            match decoder.decode(&mut piece) {
                Ok(None) => break,
                Ok(Some(message)) => seen.push(Ok(message)),
                Err(error) => {
                    seen.push(Err(error.kind()));
                    if error.kind() != ErrorKind::Malformed {
                        return seen;
                    }
                }
            }
        }
        assert!(piece.is_empty(), "bytes were left although nothing is whole");
    }
    match decoder.end() {
        Ok(None) => {}
        Ok(Some(message)) => seen.push(Ok(message)),
        Err(error) => seen.push(Err(error.kind())),
    }
    seen
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(prop_oneof![1usize..10, 1usize..3_000, 1usize..80_000], 1..10)
}

proptest! {
    #[test]
    fn messages_behind_lengths_survive_any_cuts(
        lengths in proptest::collection::vec(prop_oneof![0usize..100, 10_000usize..90_000], 0..8),
        cuts in cuts(),
    ) {
        let (base, _) = pair(TokioRuntime);
        let format = LengthFramed::new().format;
        let messages: Vec<Vec<u8>> =
            lengths.iter().map(|&length| (0..length).map(|at| (at * 31 + length) as u8).collect()).collect();
        let stream: Vec<u8> = messages
            .iter()
            .flat_map(|message| {
                let message = Buf::copy_of(message, 8).unwrap();
                format.encode(message, base.base()).unwrap().to_vec()
            })
            .collect();
        let seen = decoded(&mut format.decoder(), &stream, &cuts);
        let seen: Vec<Vec<u8>> = seen.into_iter().map(|message| message.unwrap().to_vec()).collect();
        prop_assert_eq!(seen, messages);
    }

    #[test]
    fn lines_survive_any_cuts(lines: Vec<String>, cuts in cuts()) {
        let (base, _) = pair(TokioRuntime);
        let format = LineFramed::new().format;
        let clean = |line: &String| {
            let line = line.replace('\n', "");
            line.trim_end_matches('\r').to_owned()
        };
        let lines: Vec<String> = lines.iter().map(clean).collect();
        let stream: Vec<u8> =
            lines.iter().flat_map(|line| format.encode(line.clone(), base.base()).unwrap().to_vec()).collect();
        let seen = decoded(&mut format.decoder(), &stream, &cuts);
        prop_assert_eq!(seen, lines.into_iter().map(Ok).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>, cuts in cuts()) {
        for message in decoded(&mut LengthFramed::new().largest(100).format.decoder(), &bytes, &cuts).into_iter().flatten() {
            prop_assert!(message.len() <= 100);
        }
        for line in decoded(&mut LineFramed::new().longest(10).format.decoder(), &bytes, &cuts).into_iter().flatten() {
            prop_assert!(line.len() <= 10);
        }
    }
}

#[test]
fn a_length_beyond_the_largest_ends_the_stream() {
    let mut decoder = LengthFramed::new().largest(3).format.decoder();
    let seen = decoded(&mut decoder, b"\0\0\0\x03abc\0\0\0\x04abcd\0\0\0\x01e", &[100]);
    let seen: Vec<_> = seen.into_iter().map(|message| message.map(|message| message.to_vec())).collect();
    assert_eq!(seen, [Ok(b"abc".to_vec()), Err(ErrorKind::Reset)]);
}

#[test]
fn a_stream_that_ends_within_a_message_is_reset() {
    let seen = decoded(&mut LengthFramed::new().format.decoder(), b"\0\0\0\x03ab", &[2]);
    assert!(matches!(seen[..], [Err(ErrorKind::Reset)]), "{seen:?}");
}

#[test]
fn one_bad_line_does_not_end_the_others() {
    for cuts in [&[1][..], &[2, 3], &[100]] {
        let mut decoder = LineFramed::new().longest(4).format.decoder();
        let seen = decoded(&mut decoder, b"abcd\r\nabcde\nf\xff\n\nlast", cuts);
        let malformed = || Err(ErrorKind::Malformed);
        assert_eq!(seen, [Ok("abcd".into()), malformed(), malformed(), Ok("".into()), Ok("last".into())]);
    }
}

#[tokio::test]
async fn lines_go_both_ways_and_a_line_feed_within_is_refused() {
    let (here, there) = bytes();
    let here = make_stack!(LineFramed::new()).wrap(here).await.unwrap();
    let there = make_stack!(LineFramed::new()).wrap(there).await.unwrap();
    here.send_batch(["one".to_owned(), "two".to_owned()].into_iter()).await.unwrap();
    let mut burst = Vec::new();
    while burst.len() < 2 {
        there.recv_batch(&mut burst, 10).await.unwrap();
    }
    assert_eq!(burst, ["one", "two"]);
    assert_eq!(here.send("a\nb".into()).await.unwrap_err().kind(), ErrorKind::Malformed);
    there.send("three".into()).await.unwrap();
    assert_eq!(here.recv().await.unwrap(), "three");
    here.inner().send(Chunk::end()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(there.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn an_error_behind_the_messages_of_a_burst_is_reported_after_them() {
    let (here, there) = bytes();
    let there = make_stack!(LineFramed::new()).wrap(there).await.unwrap();
    here.send(Chunk::copy_of(b"a\n\xff\nb\n").unwrap()).await.unwrap();
    let mut burst = Vec::new();
    assert_eq!(there.recv_batch(&mut burst, 10).await.unwrap(), 1);
    assert_eq!(there.recv_batch(&mut burst, 10).await.unwrap_err().kind(), ErrorKind::Malformed);
    assert_eq!(there.recv_batch(&mut burst, 10).await.unwrap(), 1);
    assert_eq!(burst, ["a", "b"]);
}

#[cfg(feature = "codec")]
mod with_codec {
    use super::*;
    use crate::CodecFramed;
    use bytes::{Bytes, BytesMut};
    use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec, LinesCodec};

    #[tokio::test]
    async fn a_codec_decodes_what_the_other_end_encodes() {
        let (here, there) = bytes();
        let stack = || CodecFramed::new(LengthDelimitedCodec::new()).carrying::<Bytes>();
        let (here, there) = (stack().wrap(here).await.unwrap(), stack().wrap(there).await.unwrap());
        for message in ["", "hello", "world"] {
            here.send(Bytes::from_static(message.as_bytes())).await.unwrap();
        }
        for message in ["", "hello", "world"] {
            assert_eq!(there.recv().await.unwrap(), message);
        }
    }

    #[tokio::test]
    async fn lines_by_a_codec_and_by_ours_are_the_same() {
        let (here, there) = bytes();
        let here = CodecFramed::new(LinesCodec::new_with_max_length(5)).wrap(here).await.unwrap();
        let there = LineFramed::new().wrap(there).await.unwrap();
        here.send("hello".to_owned()).await.unwrap();
        assert_eq!(there.recv().await.unwrap(), "hello");
        there.send("too long".into()).await.unwrap();
        let error = here.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
        assert!(error.to_string().contains("max line length"), "{error}");
    }

    /// A format that encodes zero as no bytes.
    #[derive(Clone)]
    struct Digits;

    impl Decoder for Digits {
        type Item = u8;
        type Error = std::io::Error;

        fn decode(&mut self, bytes: &mut BytesMut) -> std::io::Result<Option<u8>> {
            Ok((!bytes.is_empty()).then(|| bytes.split_to(1)[0]))
        }
    }

    impl Encoder<u8> for Digits {
        type Error = std::io::Error;

        fn encode(&mut self, digit: u8, bytes: &mut BytesMut) -> std::io::Result<()> {
            bytes.extend((digit > 0).then_some(digit));
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_message_without_bytes_does_not_end_the_stream() {
        let (here, there) = bytes();
        let (here, there) = (
            CodecFramed::new(Digits).wrap(here).await.unwrap(),
            CodecFramed::new(Digits).wrap(there).await.unwrap(),
        );
        here.send(0).await.unwrap();
        here.send_batch([1, 0, 2].into_iter()).await.unwrap();
        assert_eq!([there.recv().await.unwrap(), there.recv().await.unwrap()], [1, 2]);
    }
}
