//! The conformance suites can fail: connections and datapaths that each break one promise, and the checks that notice.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod chunnel;
mod connection;
mod datapath;

use bertha_datapath_sim::Sim;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message with which `check` panics, if it does.
fn complaint(check: impl FnOnce(&mut Sim)) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| check(&mut Sim::new(1)))).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or(panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default())
}

/// Makes a test of each check: it passes without a fault, and panics with each of these faults, saying something like
/// the text. `$run` runs a check in a simulation, with a fault.
macro_rules! catches {
    ($run:ident: $($check:ident: $($fault:ident $text:literal),+;)*) => {$(
        #[test]
        fn $check() {
            let check = |fault| $crate::complaint(|sim| $run!(sim, fault, bertha_conformance::$check));
            assert_eq!(check(Fault::Sound), None);
            $({
                let said = check(Fault::$fault).expect(concat!("does not notice ", stringify!($fault)));
                assert!(said.contains($text), "{:?} is noticed as: {said}", Fault::$fault);
            })+
        }
    )*};
}
use catches;
