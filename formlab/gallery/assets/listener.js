export default { render({ model, el }) {
  const hear = ({ data, source }) => {
    const frames = [...document.querySelectorAll(`iframe[data-formlab="${model.get("token")}"]`)];
    const own = frames.some((frame) => frame.contentWindow === source);
    if (!own || data?.formlab !== "selection") return;
    for (const name of ["rows", "tags"]) model.set(name, data[name]);
    model.save_changes();
  };
  el.hidden = true;
  addEventListener("message", hear);
  return () => removeEventListener("message", hear);
} };
