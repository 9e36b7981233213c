// Text to lines; each byte is read only once, however long a line is.
export function lineSplitter(onLine) {
  let pieces = [];
  return (text) => {
    let from = 0;
    for (let end; (end = text.indexOf('\n', from)) >= 0; from = end + 1) {
      pieces.push(text.slice(from, end));
      const line = pieces.join('');
      pieces = [];
      onLine(line);
    }
    if (from < text.length) pieces.push(text.slice(from));
  };
}
