//! Names of protobuf as names of Rust.

/// Keywords that identifiers may be in the raw form.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords without a raw form.
const FIXED: [&str; 4] = ["Self", "crate", "self", "super"];

/// Names of types and modules that generated code uses itself.
const USED: [&str; 18] = [
    "Client", "Future", "Handler", "Option", "Result", "Server", "Service", "bool", "f32", "f64", "heap",
    "i32", "i64", "str", "u32", "u64", "u8", "usize",
];

/// Returns the words of a name in lower case.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut marked = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let is_behind_other = place > 0 && !letters[place - 1].is_uppercase();
        let is_before_small = letters.get(place + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (is_behind_other || is_before_small) {
            marked.push('_');
        }
        marked.push(letter.to_ascii_lowercase());
    }
    marked.split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns a name that begins as identifiers do.
fn begun(name: String) -> String {
    match name.chars().next() {
        None => "__".into(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// Returns a name that is none of these.
fn apart(name: String, names: &[&str]) -> String {
    if names.contains(&name.as_str()) { name + "_" } else { name }
}

/// Returns the name of a field of which names of methods are made. It may be a keyword.
pub(crate) fn snake(name: &str) -> String {
    begun(words(name).join("_"))
}

/// Returns the identifier of a field, or of its getter.
pub(crate) fn identifier(name: &str) -> String {
    let name = apart(snake(name), &FIXED);
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// Returns the identifier of a constant.
pub(crate) fn upper(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

/// Returns the identifier of a variant.
pub(crate) fn variant(name: &str) -> String {
    let capital = |word: &String| word[..1].to_ascii_uppercase() + &word[1..];
    apart(begun(words(name).iter().map(capital).collect()), &FIXED)
}

/// Returns the identifier of a type.
pub(crate) fn type_name(name: &str) -> String {
    apart(variant(name), &USED)
}

/// Returns the identifier of the module for what is in a package, a message or a service.
pub(crate) fn module(name: &str) -> String {
    apart(identifier(name), &USED)
}

/// Returns the path to a type of one module, as another module writes it.
pub(crate) fn path(from: &[String], to: &[String], name: &str) -> String {
    let common = from.iter().zip(to).take_while(|(from, to)| from == to).count();
    let up = from[common..].iter().map(|_| "super");
    let down = to[common..].iter().map(String::as_str);
    up.chain(down).chain([name]).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_case_of_rust() {
        for (name, snaked, cameled) in [
            ("fooBar", "foo_bar", "FooBar"),
            ("HTTPServer2Go", "http_server2_go", "HttpServer2Go"),
            ("_foo__bar_", "foo_bar", "FooBar"),
            ("ID", "id", "Id"),
            ("_1st", "_1st", "_1st"),
            ("_", "__", "__"),
        ] {
            assert_eq!((snake(name), variant(name)), (snaked.into(), cameled.into()), "{name}");
        }
    }

    #[test]
    fn no_name_is_a_keyword_or_hides_a_type() {
        let names = ["type", "self", "Gen", "item"].map(identifier);
        assert_eq!(names, ["r#type", "self_", "r#gen", "item"]);
        assert_eq!(
            [type_name("Self"), type_name("option"), variant("option")],
            ["Self_", "Option_", "Option"]
        );
        assert_eq!(["Heap", "U64", "Loop", "Super"].map(module), ["heap_", "u64_", "r#loop", "super_"]);
    }

    #[test]
    fn paths_lead_up_and_down() {
        let modules = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        let path = |from: &str, to: &str| path(&modules(from), &modules(to), "T");
        assert_eq!(path("a.b", "a.b"), "T");
        assert_eq!(path("a.b", "a.b.c"), "c::T");
        assert_eq!(path("a.b.c", "a.d.e"), "super::super::d::e::T");
    }
}
