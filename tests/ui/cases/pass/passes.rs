//! `passes!` rewrites every stack of the crate, in whichever module it stands and however `make_stack!` is imported,
//! also in a crate that forbids imports without a use.
#![forbid(unused_imports)]

use bertha_core::{Describe, Error, Optimized, make_stack, plain_stack, select};

mod above {
    use bertha::prelude::*;
    use crate::rules::{A, B};

    pub fn explained() -> (String, u32) {
        (make_stack!(A, B).explain().to_string(), line!())
    }
}

bertha_core::passes!(rules::AbIsC, rules::NoD accepting (Encrypted), OneC);

mod rules {
    use bertha_core::{Identity, subst};

    #[derive(Identity)]
    pub struct A;
    #[derive(Identity)]
    pub struct B;
    #[derive(Identity)]
    pub struct C;
    #[derive(Identity)]
    #[chunnel(guarantees(Encrypted), one_sided)]
    pub struct D;

    #[subst(if [*, A, B, *] then [*, C, *] with |_, _| C)]
    pub struct AbIsC;
    #[subst(if [*, D, *] then [*, *], weakens(Encrypted))]
    pub struct NoD;
    #[subst(if [*, C, C, *] then [*, C, *] with |_, _| C)]
    pub struct OneC;
}
use rules::{A, B, D, OneC};

mod inside {
    pub mod deeper {
        use crate::rules::B;
        use bertha::make_stack;
        use bertha_core::Describe;

        // At the root this name is another Chunnel's, which the elements must not see.
        use crate::rules::A as D;

        pub fn explained() -> (String, u32) {
            (make_stack!(D, B).explain().to_string(), line!())
        }
    }

    pub fn by_path() -> (String, u32) {
        use bertha_core::Describe;
        (bertha::make_stack!(crate::A, crate::B).explain().to_string(), line!())
    }
}

const CHANGES_WIRE: &str = "; this changes the wire, so both ends need the pass";

/// Returns the explanation of a stack that is C alone, made in this line of this file.
fn one_change(line: u32) -> String {
    let file = file!().rsplit_once("/src/").map_or(file!(), |(_, within)| within);
    let file = if file == file!() { file.to_owned() } else { format!("src/{file}") };
    format!("C\n  AbIsC at {file}:{line}: A / B became C{CHANGES_WIRE}")
}

fn main() -> Result<(), Error> {
    for (explained, line) in [above::explained(), inside::deeper::explained(), inside::by_path()] {
        assert_eq!(explained, one_change(line));
    }

    // Passes that change nothing are silent, and tell their reasons on request.
    let untouched = make_stack!(B, A);
    assert_eq!(untouched.explain().to_string(), "B / A");
    let reasons: Vec<_> = untouched.reports().iter().filter_map(|report| report.reason()).collect();
    assert_eq!(
        reasons,
        ["below A stands nothing where B should be", "there is no D in the stack", "there is no C in the stack"],
    );

    // A stack that stays as it is written, alone and as a part.
    assert_eq!(plain_stack!(A, B).explain().to_string(), "A / B");
    assert_eq!(make_stack!(A, plain_stack!(B, A)).explain().to_string().lines().next(), Some("C / A"));

    // Parts keep their reports, once each; what their whole adds stands behind them.
    let (part, line) = (|| make_stack!(A, B), line!());
    assert_eq!(make_stack!(part()).explain().to_string(), one_change(line));
    let alike = make_stack!(select!(part(), part()));
    assert_eq!(alike.explain().to_string().replacen("(C | C)", "C", 1), one_change(line));
    let (whole, its_line) = (make_stack!(part(), D, part()), line!());
    assert_eq!(
        changed(&whole),
        [
            ("AbIsC", line, "A / B became C"),
            ("NoD", its_line, "D became nothing"),
            ("OneC", its_line, "C / C became C"),
        ],
    );
    // Outer passes of `optimize!` and a stack without passes keep them as well.
    let optimized = bertha_core::optimize!(plain_stack!(part(), part()), OneC);
    assert_eq!(changed(&optimized)[0], ("AbIsC", line, "A / B became C"));
    assert_eq!(changed(&optimized).len(), 2);
    assert_eq!(plain_stack!(part()).explain().to_string(), one_change(line));
    Ok(())
}

/// Returns the name of each pass with changes, the line of its stack, and its first change.
fn changed<S, P>(stack: &Optimized<S, P>) -> Vec<(&str, u32, &str)> {
    let reports = stack.reports().iter().filter(|report| !report.changes().is_empty());
    reports.map(|report| (report.pass(), report.place().unwrap().line(), &*report.changes()[0])).collect()
}
