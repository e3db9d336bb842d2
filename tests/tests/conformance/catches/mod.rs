//! The conformance suites can fail: connections and datapaths that each break one promise, and the checks that notice.

mod chunnel;
mod connection;
mod datapath;
mod ending;

use bertha_datapath_sim::Sim;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the message with which `check` panics, or `None` if it does not panic.
fn complaint(check: impl FnOnce(&mut Sim)) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| check(&mut Sim::new(1)))).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or(panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default())
}

/// Makes a test of each check: the check passes without a fault, and panics with each of these faults, with a
/// message that contains the text. `$run` runs a check in a simulation, with a fault.
macro_rules! catches {
    ($run:ident: $($check:ident: $($fault:ident $text:literal),+;)*) => {$(
        #[test]
        fn $check() {
            let check = |fault| $crate::catches::complaint(|sim| $run!(sim, fault, bertha_conformance::$check));
            assert_eq!(check(Fault::Sound), None);
            $({
                let said = check(Fault::$fault).expect(concat!("does not notice ", stringify!($fault)));
                assert!(said.contains($text), "{:?} is noticed as: {said}", Fault::$fault);
            })+
        }
    )*};
}
use catches;
