"""The forms of the FORMCRAFT sample, in the order they are written."""

from __future__ import annotations

from data.sample.generate.formcraft.forms import (
    blood_report,
    building_permit,
    dental_order,
    event_booking,
    insurance_claim,
    lease,
    patient_intake,
    repair_order,
    school_enrolment,
    shipping_note,
    site_inspection,
    tax_worksheet,
    time_sheet,
    travel_claim,
    vaccination_card,
    visitor_survey,
)

FORMS = tuple(
    module.FORM
    for module in (
        lease,
        repair_order,
        insurance_claim,
        tax_worksheet,
        dental_order,
        patient_intake,
        blood_report,
        vaccination_card,
        travel_claim,
        time_sheet,
        shipping_note,
        site_inspection,
        school_enrolment,
        visitor_survey,
        building_permit,
        event_booking,
    )
)
