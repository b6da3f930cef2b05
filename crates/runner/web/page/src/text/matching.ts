/** Results that are shown. */
const MAX_RESULTS = 40;

/** Returns the entries that have the letters of a text in their order, those that begin with it first. */
export function matching<T extends { readonly title: string; readonly about: string }>(entries: readonly T[], text: string): T[] {
  const wanted = text.toLowerCase().replace(/\s+/g, "");
  const rank = ({ title, about }: T) => {
    const whole = `${title} ${about}`.toLowerCase();
    if (whole.startsWith(text.toLowerCase().trim())) return 0;
    if (whole.includes(text.toLowerCase().trim())) return 1;
    let at = 0;
    for (const letter of wanted) {
      at = whole.indexOf(letter, at) + 1;
      if (at === 0) return null;
    }
    return 2;
  };
  const ranked = entries.flatMap((entry) => {
    const value = rank(entry);
    return value === null ? [] : [{ entry, value }];
  });
  return ranked.sort((a, b) => a.value - b.value).slice(0, MAX_RESULTS).map(({ entry }) => entry);
}
