//! One connection of TLS, without I/O: messages and records in, messages and records out.

use crate::certificates::binding::{self, PROOF, Proofs};
use crate::certificates::side::{Config, Side};
use bertha_core::framing::{Deframer, HEADER, TooLarge};
use bertha_core::{Buf, Error, ErrorKind};
use rustls::{ClientConnection, Connection, HandshakeKind, ServerConnection};
use std::array::from_fn;
use std::io::{self, BufRead, IoSlice, Read, Write};

/// Maximum number of messages that become records together.
pub(super) const GROUP: usize = 32;

/// Maximum number of bytes of messages in a record (RFC 8446, section 5.1).
const CONTENT: usize = 16 << 10;

/// Number of bytes that a record adds to its content (section 5.2), with the tag and the type.
const OVERHEAD: usize = 5 + 16 + 1;

/// The bytes of a full record.
pub(super) const RECORD: usize = CONTENT + OVERHEAD;

/// The bytes to reserve for records of unknown length: a flight of the handshake without certificates.
const FLIGHT: usize = 1024;

/// The state of a connection of TLS.
pub(super) struct Machine {
    tls: Connection,
    deframer: Deframer,
    /// Number of bytes of the largest message.
    pub(super) largest: usize,
    /// An upper bound of the bytes of the waiting records.
    waiting: usize,
}

/// The end of a stream of records.
pub(super) enum End {
    /// The peer has closed the stream, with a close_notify (RFC 8446, section 6.1), between two messages.
    Closed,
    /// The peer's close_notify came within a message.
    WithinMessage,
    /// The peer sent a length that no honest peer sends.
    Malformed(TooLarge),
    /// TLS has failed.
    Failed(rustls::Error),
}

impl Machine {
    /// Makes the machine of an end whose peer sends messages of up to so many bytes.
    pub(super) fn new(config: Config, largest: usize) -> Result<Self, rustls::Error> {
        let mut tls = match config {
            Config::Client(config, name) => Connection::Client(ClientConnection::new(config, name)?),
            Config::Server(config) => Connection::Server(ServerConnection::new(config)?),
        };
        // The callers wait for the connection below after each group of messages.
        tls.set_buffer_limit(None);
        Ok(Self { tls, deframer: Deframer::new(largest), largest, waiting: 0 })
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Returns true if the handshake resumed the session of an earlier connection.
    pub(super) fn is_resumed(&self) -> bool {
        self.tls.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Returns true if both ends have named this protocol.
    pub(super) fn has_agreed_on(&self, protocol: &str) -> bool {
        self.tls.alpn_protocol() == Some(protocol.as_bytes())
    }

    /// Returns the certificates or the raw key that the other end has shown, now or in the resumed session.
    pub(super) fn shown(&self) -> &[rustls::pki_types::CertificateDer<'static>] {
        self.tls.peer_certificates().unwrap_or_default()
    }

    /// Returns the proofs of this transcript, for this connection.
    pub(super) fn proofs(&self, transcript: &[u8; 32], side: &Side) -> Result<Proofs, Error> {
        Proofs::new(|into, label, context| self.export(into, label, context), transcript, side.is_client())
    }

    /// Returns the key for messages about the connection.
    pub(super) fn control_key(&self, transcript: Option<&[u8; 32]>) -> Result<[u8; 32], Error> {
        binding::control_key(|into, label, context| self.export(into, label, context), transcript)
    }

    fn export(&self, into: &mut [u8; 32], label: &[u8], context: &[u8]) -> Result<(), Error> {
        let exported = self.tls.export_keying_material(into, label, Some(context));
        exported.map(drop).map_err(|error| Error::new(ErrorKind::Reset, error.to_string()).because(error))
    }

    /// Takes the bytes of the next records from `bytes`. Returns true if the peer has closed; bytes behind
    /// its close_notify are ignored.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<bool, rustls::Error> {
        // `rustls` reads nothing for two reasons: the peer has closed, or a record is longer than allowed,
        // which shows below.
        if self.tls.read_tls(bytes).is_err() {
            return Err(rustls::Error::PeerSentOversizedRecord);
        }
        let state = self.tls.process_new_packets()?;
        Ok(state.peer_has_closed())
    }

    /// Takes the decrypted bytes of `proof` that have arrived, from `known` on. Returns the number of known
    /// bytes.
    pub(super) fn take_proof(&mut self, proof: &mut [u8; PROOF], known: usize) -> usize {
        // An error has no further meaning: no byte has arrived, or none ever will.
        known + self.tls.reader().read(&mut proof[known..]).unwrap_or(0)
    }

    /// Takes the next bytes that arrived, and passes on each complete message. `Some` once no more messages
    /// will come.
    pub(super) fn receive(&mut self, bytes: &mut &[u8], mut deliver: impl FnMut(Buf)) -> Option<End> {
        // Messages that were decrypted before come first.
        if let Err(too_large) = self.pass_on(&mut deliver) {
            return Some(End::Malformed(too_large));
        }
        let taken = self.take(bytes);
        // Messages that were decrypted before an error have arrived as well.
        let passed_on = self.pass_on(&mut deliver);
        match (taken, passed_on) {
            (_, Err(too_large)) => Some(End::Malformed(too_large)),
            (Err(error), _) => Some(End::Failed(error)),
            (Ok(true), _) if self.deframer.is_between() => Some(End::Closed),
            (Ok(true), _) => Some(End::WithinMessage),
            (Ok(false), _) => None,
        }
    }

    fn pass_on(&mut self, deliver: &mut impl FnMut(Buf)) -> Result<(), TooLarge> {
        let mut reader = self.tls.reader();
        // The error says that there are no more bytes for now, or never will be.
        while let Ok(decrypted) = reader.fill_buf()
            && !decrypted.is_empty()
        {
            let len = decrypted.len();
            let mut rest = decrypted;
            while let Some(message) = self.deframer.take(&mut rest)? {
                deliver(message);
            }
            reader.consume(len);
        }
        Ok(())
    }

    /// Encrypts up to [`GROUP`] messages, each behind its length, into as few records as they fit.
    pub(super) fn encrypt(&mut self, messages: &[Buf]) -> io::Result<()> {
        let mut each = messages.iter();
        let lengths: [_; GROUP] =
            from_fn(|_| each.next().map_or(0, |message| message.len() as u32).to_be_bytes());
        let mut parts = lengths
            .iter()
            .zip(messages)
            .flat_map(|(length, message)| [IoSlice::new(length), IoSlice::new(message)]);
        let slices: [_; 2 * GROUP] = from_fn(|_| parts.next().unwrap_or(IoSlice::new(&[])));
        self.write(&slices[..2 * messages.len().min(GROUP)])
    }

    /// Encrypts bytes that are no message.
    pub(super) fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let written = self.tls.writer().write_vectored(parts)?;
        self.waiting += len + OVERHEAD * len.div_ceil(CONTENT);
        // Without a limit of its buffer, `rustls` takes all bytes.
        if written == len { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Adds the close_notify, which says that this end sends no more.
    pub(super) fn close(&mut self) {
        self.tls.send_close_notify();
        self.waiting += OVERHEAD + HEADER;
    }

    /// Takes the waiting records, in pieces of at most `largest` bytes, each in a buffer that `buffer` makes.
    pub(super) fn records(
        &mut self,
        largest: usize,
        mut buffer: impl FnMut(usize) -> Result<Buf, Error>,
        pieces: &mut Vec<Buf>,
    ) -> Result<(), Error> {
        while self.tls.wants_write() {
            let len = if self.waiting == 0 { FLIGHT } else { self.waiting };
            let mut piece = Piece { bytes: buffer(len.min(largest))?, filled: 0 };
            while piece.filled < piece.bytes.len() && self.tls.wants_write() {
                self.tls.write_tls(&mut piece)?;
            }
            self.waiting = self.waiting.saturating_sub(piece.filled);
            piece.bytes.truncate(piece.filled);
            pieces.push(piece.bytes);
        }
        self.waiting = 0;
        Ok(())
    }
}

/// A buffer that is filled from its beginning.
struct Piece {
    bytes: Buf,
    filled: usize,
}

impl Write for Piece {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.bytes.len() - self.filled);
        self.bytes[self.filled..self.filled + len].copy_from_slice(&bytes[..len]);
        self.filled += len;
        Ok(len)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        parts.iter().try_fold(0, |sum, part| Ok(sum + self.write(part)?))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
