//! Calls that begin other programs, with a list of arguments behind `...`.
//!
//! On this processor the list lies in registers and then on the stack, where a structure by value lies, too.

use super::programs::{execv, execve, execvp};
use crate::errno;
use libc::{c_char, c_int};
use std::ptr::null;

/// A word of a list.
type Word = *const c_char;

/// The words of a list that come in registers.
const FIRST: usize = 5;

/// The words of a list that may come on the stack: so many bytes lie behind the first call of every stack.
const REST: usize = 59;

/// The words on the stack. Those behind the end of the list are the caller's own.
#[repr(C)]
struct Rest([Word; REST]);

/// A list of arguments with its end, and the word behind it.
struct List {
    words: [Word; FIRST + REST],
    end: usize,
}

impl List {
    /// Returns the list, or none if it is too long.
    fn new(first: [Word; FIRST], rest: &Rest) -> Option<Self> {
        let mut words = [null(); FIRST + REST];
        let all = first.iter().chain(&rest.0);
        for (at, (word, given)) in words.iter_mut().zip(all).enumerate() {
            *word = *given;
            if given.is_null() {
                // The end may be the last word, and then there is none behind it.
                let behind = first.iter().chain(&rest.0).nth(at + 1);
                if let (Some(word), Some(behind)) = (words.get_mut(at + 1), behind) {
                    *word = *behind;
                }
                return Some(Self { words, end: at });
            }
        }
        errno::set(libc::E2BIG);
        None
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execl(
    path: Word,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    e: Word,
    rest: Rest,
) -> c_int {
    let Some(list) = List::new([a, b, c, d, e], &rest) else { return -1 };
    // SAFETY: the arguments are the program's.
    unsafe { execv(path, list.words.as_ptr()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execlp(
    path: Word,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    e: Word,
    rest: Rest,
) -> c_int {
    let Some(list) = List::new([a, b, c, d, e], &rest) else { return -1 };
    // SAFETY: the arguments are the program's.
    unsafe { execvp(path, list.words.as_ptr()) }
}

/// The environment stands behind the end of the list.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execle(
    path: Word,
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    e: Word,
    rest: Rest,
) -> c_int {
    let Some(list) = List::new([a, b, c, d, e], &rest) else { return -1 };
    let environment = list.words.get(list.end + 1).map_or(null(), |words| words.cast::<Word>());
    // SAFETY: the arguments are the program's.
    unsafe { execve(path, list.words.as_ptr(), environment) }
}
