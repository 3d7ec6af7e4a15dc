// The list of versions: a choice leads to the same page of another version, or to its first page where it has none.
(() => {
  const list = document.getElementById("versions");
  const versions = window.ACTIVEEVAL_VERSIONS;
  if (!list || !versions) return;
  const current = list.options[0].textContent;
  list.replaceChildren(
    ...Object.keys(versions).map((name) => new Option(name, name, name === current, name === current)),
  );
  list.disabled = list.options.length < 2;
  list.addEventListener("change", () => {
    const page = versions[list.value].includes(list.dataset.page) ? list.dataset.page : "index";
    location.href = `${list.dataset.root || "./"}../${list.value}/${page}.html`;
  });
})();
