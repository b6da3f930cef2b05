/** Splits rules at commas that are not within parentheses: `Bash(a, b), Read`. */
export function splitTools(text: string): string[] {
  const tools: string[] = [];
  let [depth, from] = [0, 0];
  const push = (to: number) => {
    const tool = text.slice(from, to).trim();
    if (tool !== "") tools.push(tool);
    from = to + 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === "(") depth += 1;
    else if (sign === ")") depth -= 1;
    else if (sign === "," && depth <= 0) push(at);
  }
  push(text.length);
  return tools;
}
