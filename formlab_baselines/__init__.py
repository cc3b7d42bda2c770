"""Systems without a model of their own: rules over what the OCR or a PDF's text gives."""
