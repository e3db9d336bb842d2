//! The text of code.

/// The attribute of items that a program may leave unused.
pub(crate) const MAY_BE_UNUSED: &str =
    "#[allow(dead_code, reason = \"a program uses a part of a schema\")]\n";

/// Returns lines that stand one level further to the right.
pub(crate) fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("    {line}\n") }).collect()
}

/// Returns a block of items with free lines between them.
pub(crate) fn block(head: &str, items: &[String]) -> String {
    format!("{head} {{\n{}}}\n", indented(&items.join("\n")))
}

/// Returns a function of an `impl`, with its documentation on one line.
pub(crate) fn function(docs: &str, signature: &str, body: &str) -> String {
    block(&format!("/// {docs}\npub fn {signature}"), &[body.into()])
}

/// Returns the name that an item defines.
pub(crate) fn defined(item: &str) -> Option<&str> {
    item.lines().find(|line| line.starts_with("pub "))?.split([' ', '(', ':', ';', '<']).nth(2)
}

/// Returns the documentation that a comment of a schema is, or another text without a comment.
pub(crate) fn docs(comment: Option<&str>, otherwise: &str) -> String {
    let mut is_code = false;
    let mut docs = String::new();
    for line in comment.unwrap_or(otherwise).trim_end().lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        let text = match (is_fence, is_code) {
            // The code is none that a test of documentation can run.
            (true, true) => "```text".into(),
            (false, false) => prose(line),
            _ => line.into(),
        };
        docs += format!("/// {text}").trim_end();
        docs.push('\n');
    }
    docs
}

/// Returns a line in which no letter is a mark of rustdoc, and no space makes code.
fn prose(line: &str) -> String {
    let text = line.trim_start();
    let mut prose = " ".repeat((line.len() - text.len()).min(3));
    let mut is_code = false;
    for letter in text.chars() {
        is_code ^= letter == '`';
        if !is_code && matches!(letter, '[' | ']' | '<' | '>') {
            prose.push('\\');
        }
        prose.push(letter);
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_neither_link_nor_run() {
        let comment = " See [x] or `a[0]`, <b>.\n\n     deep\n ```\n   let [x] = y;\n ```\n";
        let expected = "/// See \\[x\\] or `a[0]`, \\<b\\>.\n///\n///    deep\n/// ```text\n///   let [x] = y;\n/// ```\n";
        assert_eq!(docs(Some(comment), ""), expected);
        assert_eq!(docs(None, "Other."), "/// Other.\n");
    }
}
