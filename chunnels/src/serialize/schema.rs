//! The default name of a message type.

/// Returns the name of `T` without the paths in front of it, as in `Vec<Request>`.
///
/// Without paths, since one type is often reached through different ones: the client's module, the server's, a
/// re-export. That makes two types of one name equal; but their names would say nothing about their fields anyway.
pub(super) fn of<T>() -> String {
    without_paths(std::any::type_name::<T>())
}

fn without_paths(name: &str) -> String {
    let mut short = String::new();
    // The start of the current path in `short`.
    let mut segment = 0;
    let mut colons = 0;
    for character in name.chars() {
        colons = if character == ':' { colons + 1 } else { 0 };
        if colons == 2 {
            short.truncate(segment);
            continue;
        }
        short.push(character);
        if !(character.is_alphanumeric() || character == '_' || character == ':') {
            segment = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Request;

    #[test]
    fn paths_are_left_out_everywhere() {
        assert_eq!(of::<u64>(), "u64");
        assert_eq!(of::<Request>(), "Request");
        assert_eq!(of::<Vec<(Request, Option<String>)>>(), "Vec<(Request, Option<String>)>");
        assert_eq!(of::<[std::net::IpAddr; 4]>(), "[IpAddr; 4]");
        assert_eq!(without_paths("store::kind::Größe<'static, a_b::C>"), "Größe<'static, C>");
    }
}
