// The rows of a catalogue, as a person adds, withdraws and restores them.

const PARTS = ["add", "withdraw", "restore"];

/** Let the form send what changes in the catalogue that it is about. */
export function takeRows(form) {
  const field = (part) => form.querySelector(`[data-part="${part}"]`);
  form.made = async () => {
    const change = Object.create(null);
    for (const part of PARTS) {
      const text = field(part).value.trim();
      if (text !== "")
        change[part] =
          part === "add"
            ? text
            : text
                .split("\n")
                .map((line) => line.trim())
                .filter((line) => line !== "");
    }
    return { catalogues: { [form.dataset.catalogue]: change } };
  };
  form.fieldOf = (pointer) => field(pointer.split("/")[3] ?? "add");
}

/** What takes a change of catalogues back; nothing does where rows were added. */
export function reversed(catalogues) {
  const changes = Object.entries(catalogues);
  if (changes.some(([, { add }]) => add)) return null;
  return Object.fromEntries(
    changes.map(([name, { withdraw, restore }]) => [
      name,
      { ...(restore && { withdraw: restore }), ...(withdraw && { restore: withdraw }) },
    ]),
  );
}
