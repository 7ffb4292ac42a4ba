//! Errors as text.

/// An error and its causes, without causes that the message already contains.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    #[test]
    fn causes_are_printed_once() {
        let error = anyhow::anyhow!("no memory").context("16 bytes: no memory").context("c.npy");
        assert_eq!(super::chain(&error), "c.npy: 16 bytes: no memory");
    }
}
