"use strict";
(() => {
  const own = (name) => document.getElementById(document.body.dataset.own + name);
  const data = JSON.parse(own("data").textContent);
  const table = own("table");
  const form = own("filters");
  const shown = own("shown");
  const bodies = Array.from(table.tBodies);
  const filters = ["kind", "rule", "domain", "verdict", "flag"];
  const texts = new Map();
  let sorted = { by: "", down: false };

  const textOf = (index) => {
    if (!texts.has(index)) texts.set(index, bodies[index].textContent.toLowerCase());
    return texts.get(index);
  };

  const matches = (index, state) =>
    filters.every((name) => {
      const [wanted, found] = [state[name], data[name][index]];
      return !wanted || (name === "flag" ? found.includes(wanted) : found === wanted);
    }) &&
    (!state.search || textOf(index).includes(state.search.toLowerCase()));

  const stateOf = () => {
    const state = { search: form.elements.search.value };
    for (const name of filters) state[name] = form.elements[name].value;
    return state;
  };

  const fragmentOf = (state) => {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) if (value) parameters.set(name, value);
    if (sorted.by) parameters.set("sort", sorted.by);
    if (sorted.by && sorted.down) parameters.set("down", "1");
    const text = parameters.toString();
    return text ? "#?" + text : "#";
  };

  const filter = () => {
    const state = stateOf();
    let count = 0;
    bodies.forEach((body, index) => {
      body.hidden = !matches(index, state);
      if (!body.hidden) count += 1;
    });
    shown.textContent = `${count} of ${bodies.length} questions shown`;
    return state;
  };

  const sort = () => {
    const order = bodies.map((_, index) => index);
    if (Object.hasOwn(data, sorted.by)) {
      const key = (index) => data[sorted.by][index];
      order.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        const compared = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
        return (sorted.down ? -compared : compared) || a - b;
      });
    }
    const fragment = document.createDocumentFragment();
    for (const index of order) fragment.append(bodies[index]);
    table.append(fragment);
    for (const head of table.tHead.rows[0].cells) {
      const direction = sorted.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", head.dataset.sort === sorted.by ? direction : "none");
    }
  };

  const keep = (state) => history.replaceState(null, "", fragmentOf(state));

  const open = (id) => {
    const body = document.getElementById(id);
    if (!bodies.includes(body)) return;
    if (body.hidden) {
      for (const name of ["search", ...filters]) form.elements[name].value = "";
      filter();
    }
    body.querySelector("details").open = true;
    body.scrollIntoView({ block: "start" });
    body.querySelector("summary").focus({ preventScroll: true });
  };

  const follow = () => {
    const fragment = location.hash.slice(1);
    if (fragment && !fragment.startsWith("?")) {
      let id = fragment;
      try {
        id = decodeURIComponent(fragment);
      } catch {
        // An id that is no valid encoding stands for itself.
      }
      open(id);
      return;
    }
    const parameters = new URLSearchParams(fragment.slice(1));
    for (const name of ["search", ...filters]) form.elements[name].value = parameters.get(name) || "";
    sorted = { by: parameters.get("sort") || "", down: parameters.get("down") === "1" };
    filter();
    sort();
  };

  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      sorted = { by: head.dataset.sort, down: sorted.by === head.dataset.sort && !sorted.down };
      sort();
      keep(stateOf());
    });
  }
  form.hidden = false;
  form.addEventListener("input", () => keep(filter()));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => keep(filter()), 0));
  addEventListener("hashchange", follow);
  filter();
  follow();
  // Once loaded, the browser jumps to the fragment by itself and takes the focus away.
  addEventListener("load", follow);
})();
