//! Connections with faulty ends.

use bertha_conformance::Bufs;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use bertha_datapath_sim::{PairBase, PairConnection, SimRuntime, pair};
use futures_util::FutureExt;
use std::sync::Mutex;
use std::time::Duration;

/// The fault of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Sound,
    TellsCutAsClose,
    TellsCloseAsCut,
    KeepsSilentAtDrop,
    ClosesAtDrop,
    GoesOnAfterEnd,
    ForgetsReason,
    SendsAfterEnd,
    SendsBurstsAfterEnd,
    ReceivesBurstsAfterEnd,
    LosesLastAtClose,
    FailsClose,
    NeverClosed,
}

use Fault::*;

const DATA: u8 = 0;
const END: u8 = 1;

/// An end whose close is a message, without which its peer takes the connection for cut.
struct Ending {
    /// The connection, until the end is dropped.
    inner: Option<PairConnection<SimRuntime>>,
    fault: Fault,
    /// The last message sent, which a close may lose.
    held: Mutex<Option<Buf>>,
    /// The kind of the error with which receptions have ended.
    end: Mutex<Option<ErrorKind>>,
}

fn ending(runtime: &SimRuntime, fault: Fault) -> (Ending, Ending) {
    let (here, there) = pair(runtime.clone());
    let end = |inner| Ending { inner: Some(inner), fault, held: Mutex::default(), end: Mutex::default() };
    (end(here), end(there))
}

fn marked(kind: u8, bytes: &[u8]) -> Result<Buf, Error> {
    Buf::copy_of(&[&[kind], bytes].concat(), 0)
}

fn error(kind: ErrorKind) -> Error {
    Error::new(kind, "the connection has ended").at("Ending").ending_connection()
}

impl Ending {
    fn inner(&self) -> &PairConnection<SimRuntime> {
        self.inner.as_ref().unwrap()
    }

    /// Returns the error with which receptions have ended.
    fn check(&self) -> Result<(), Error> {
        match *self.end.lock().unwrap() {
            Some(_) if self.fault == GoesOnAfterEnd => {
                Err(Error::new(ErrorKind::Malformed, "not now").sparing_connection())
            }
            Some(_) if self.fault == ForgetsReason => Err(error(ErrorKind::Closed)),
            Some(kind) => Err(error(kind)),
            None => Ok(()),
        }
    }

    fn ended(&self, kind: ErrorKind) -> Error {
        *self.end.lock().unwrap() = Some(kind);
        error(kind)
    }
}

impl Connection for Ending {
    type Data = Buf;
    type Base = PairBase<SimRuntime>;

    fn base(&self) -> &Self::Base {
        self.inner().base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if self.fault == SendsAfterEnd && self.check().is_err() {
            return Ok(());
        }
        self.check()?;
        let message = marked(DATA, &message)?;
        if self.fault == LosesLastAtClose {
            let before = self.held.lock().unwrap().replace(message);
            return match before {
                Some(before) => self.inner().send(before).await,
                None => Ok(()),
            };
        }
        self.inner().send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        self.check()?;
        match self.inner().recv().await {
            Ok(mut message) if message[0] == DATA => {
                message.advance(1)?;
                Ok(message)
            }
            Ok(_) if self.fault == TellsCloseAsCut => Err(self.ended(ErrorKind::Reset)),
            Ok(_) => Err(self.ended(ErrorKind::Closed)),
            Err(_) if self.fault == TellsCutAsClose => Err(self.ended(ErrorKind::Closed)),
            Err(_) => Err(self.ended(ErrorKind::Reset)),
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        if self.fault == SendsBurstsAfterEnd && self.check().is_err() {
            return Ok(());
        }
        for message in messages {
            self.send(message).await?;
        }
        Ok(())
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if self.fault == ReceivesBurstsAfterEnd && self.check().is_err() {
            return Ok(0);
        }
        if limit > 0 {
            into.extend([self.recv().await?]);
        }
        Ok(limit.min(1))
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.inner().send(marked(END, &[])?).await?;
        self.ended(ErrorKind::Closed);
        let runtime = self.base().runtime();
        // The peer may receive meanwhile.
        runtime.sleep_until(runtime.now() + Duration::from_secs(1)).await;
        match self.fault {
            FailsClose => Err(error(ErrorKind::TimedOut)),
            NeverClosed => std::future::pending().await,
            _ => Ok(()),
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        match self.fault {
            KeepsSilentAtDrop => std::mem::forget(self.inner.take()),
            ClosesAtDrop => {
                // The check that has failed drops the other end as well, whose peer is gone.
                let _ = self.inner().send(marked(END, &[]).unwrap()).now_or_never();
            }
            _ => {}
        }
    }
}

/// Runs a check of an end whose peer was dropped.
macro_rules! of_a_cut {
    ($sim:ident, $fault:ident, $check:path) => {{
        let (a, b) = ending(&$sim.runtime(), $fault);
        drop(a);
        $sim.run(async { drop($check(&b, &Bufs).await) })
    }};
}

macro_rules! of_a_close {
    ($sim:ident, $fault:ident, $check:path) => {{
        let (a, b) = ending(&$sim.runtime(), $fault);
        $sim.run($check(&a, &b, &Bufs))
    }};
}

macro_rules! that_drops_the_closing_end {
    ($sim:ident, $fault:ident, $check:path) => {{
        let (a, b) = ending(&$sim.runtime(), $fault);
        $sim.run($check(a, &b, &Bufs))
    }};
}

macro_rules! that_drops_the_receiving_end {
    ($sim:ident, $fault:ident, $check:path) => {{
        let (a, b) = ending(&$sim.runtime(), $fault);
        $sim.run($check(&a, b, &Bufs))
    }};
}

crate::catches::catches! { of_a_cut:
    an_end_is_final: KeepsSilentAtDrop "does not end", GoesOnAfterEnd "goes on after the end",
        ForgetsReason "after the end", SendsAfterEnd "send succeeded", SendsBurstsAfterEnd "send_batch succeeded",
        ReceivesBurstsAfterEnd "recv_batch succeeded";
}

crate::catches::catches! { of_a_close:
    the_peer_hears_of_a_close: TellsCloseAsCut "Ending: reset", LosesLastAtClose "recv";
}

crate::catches::catches! { that_drops_the_closing_end:
    a_dropped_end_is_cut_at_the_peer: TellsCutAsClose "is told as", ClosesAtDrop "is told as",
        KeepsSilentAtDrop "does not end", ForgetsReason "after the end";
}

crate::catches::catches! { that_drops_the_receiving_end:
    a_close_succeeds_once_all_has_arrived: FailsClose "all has arrived", LosesLastAtClose "recv",
        NeverClosed "nothing happened", TellsCloseAsCut "Ending: reset";
}
