//! UniFFI's generator for Swift.

fn main() {
    uniffi::uniffi_bindgen_swift();
}
